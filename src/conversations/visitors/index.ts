// The public interface of visitors: the chat of a web page, by a public key that everybody can read.
export { visitorOperations, type VisitorOperationParts } from './operations.js';
