// The public interface of response formats: answers that must fit a JSON Schema.
export { AnswerFit, askedAgain, parsedAnswer, responseFormatMismatch } from './answer-fit.js';
export {
  type GivenResponseFormat,
  readResponseFormat,
  responseFormatShape,
  type SchemaFormat,
  schemaFormatOf,
} from './response-format.js';
