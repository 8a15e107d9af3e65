// The public interface of parts: images and files in messages, from what a caller gives to what a model takes.
export {
  attachmentsMax,
  attachmentsShape,
  bytesInBase64,
  filePartShape,
  type GivenPart,
  imagePartShape,
  partBytesMax,
} from './given-parts.js';
export { imageTypeOf, imageTypesList } from './media-types.js';
export { partReader, type PlacedPart, type ReadPart, type ReadParts } from './read-parts.js';
export { userPartOf } from './user-part.js';
