// The public interface of parts: images and files in messages, from what a caller gives to what a model takes.
export {
  attachmentsMax,
  attachmentsShape,
  filePartShape,
  type GivenPart,
  imagePartShape,
} from './given-parts.js';
export { partReader, type PlacedPart, type ReadPart, type ReadParts } from './read-parts.js';
export { userPartOf } from './user-part.js';
