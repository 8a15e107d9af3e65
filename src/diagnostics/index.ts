export {
  isSecretName,
  looksLikeCredential,
  redactDeep,
  redacted,
  type RedactionBounds,
  redactText,
  redactValue,
} from './redaction.js';
