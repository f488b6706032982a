// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/Tiling.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kdl;

/// The bytes of all elements, or of the one splat value.
static ArrayRef<char> bytesOf(ElementsAttr source) {
  if (auto dense = dyn_cast<DenseElementsAttr>(source))
    return dense.getRawData();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(source)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return blob->getData();
  }
  return {};
}

DenseElementsAttr kdl::packConstant(ElementsAttr source, ArrayRef<PackedDim> dims, uint8_t flip) {
  ArrayRef<char> bytes = bytesOf(source);
  auto from = cast<RankedTensorType>(source.getType());
  unsigned bits = from.getElementTypeBitWidth();
  size_t size = bits / 8;
  bool isSplat = source.isSplat() && bytes.size() == size;
  if (bits % 8 != 0 ||
      (!isSplat && bytes.size() != size * static_cast<size_t>(from.getNumElements())))
    return nullptr;
  ArrayRef<int64_t> sizes = from.getShape();
  SmallVector<int64_t> strides(sizes.size(), 1), shape, index(sizes.size(), 0);
  for (size_t dim = sizes.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * sizes[dim];
  for (const PackedDim &dim : dims)
    shape.push_back(dim.size);
  int64_t total = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  std::vector<char> packed(static_cast<size_t>(total) * size, 0);
  SmallVector<int64_t> at(dims.size(), 0);
  for (int64_t i = 0; i < total; ++i) {
    int64_t offset = 0;
    bool isThere = true;
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      isThere = isThere && index[dim] < sizes[dim];
      offset += index[dim] * strides[dim];
    }
    const char *element = bytes.data() + (isSplat ? 0 : static_cast<size_t>(offset) * size);
    for (size_t byte = 0; isThere && byte < size; ++byte)
      packed[static_cast<size_t>(i) * size + byte] = static_cast<char>(element[byte] ^ flip);
    for (size_t dim = dims.size(); dim-- > 0;) {
      index[dims[dim].sourceDim] += dims[dim].step;
      if (++at[dim] < dims[dim].size)
        break;
      index[dims[dim].sourceDim] -= dims[dim].step * dims[dim].size;
      at[dim] = 0;
    }
  }
  return DenseElementsAttr::getFromRawBuffer(RankedTensorType::get(shape, from.getElementType()),
                                             packed);
}

DenseElementsAttr kdl::sumPackedColumns(DenseElementsAttr packed) {
  auto type = cast<RankedTensorType>(packed.getType());
  ArrayRef<int64_t> sizes = type.getShape().take_back(3);
  auto k1 = static_cast<size_t>(sizes[0]), n0 = static_cast<size_t>(sizes[1]),
       k0 = static_cast<size_t>(sizes[2]);
  SmallVector<int64_t> shape(type.getShape().drop_back(3));
  shape.push_back(sizes[1]);
  ArrayRef<char> bytes = packed.getRawData();
  auto result = RankedTensorType::get(shape, IntegerType::get(type.getContext(), 32));
  std::vector<int32_t> sums(static_cast<size_t>(result.getNumElements()));
  for (size_t i = 0; i < sums.size(); ++i) {
    for (size_t k = 0; k < k1 * k0; ++k) {
      size_t place = ((i / n0 * k1 + k / k0) * n0 + i % n0) * k0 + k % k0;
      sums[i] += static_cast<signed char>(bytes[packed.isSplat() ? 0 : place]);
    }
  }
  return DenseElementsAttr::get(result, ArrayRef<int32_t>(sums));
}
