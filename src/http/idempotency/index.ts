// The public interface of idempotency: the first answer for a repeat with the same Idempotency-Key.
export { KeptRequests } from './requests.js';
export { resealKeptAnswers } from './reseal.store.js';
export { forgetRequests, recordMade } from './requests.store.js';
