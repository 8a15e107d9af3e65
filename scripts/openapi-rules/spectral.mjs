// The rules of Spectral for docs/openapi.json: `node scripts/lint-openapi.mjs`, or `spectral lint -r scripts/openapi-rules/spectral.mjs docs/openapi.json`.
import { oas } from '@stoplight/spectral-rulesets';

export default {
  extends: [[oas, 'recommended']],
  rules: { 'oas3-parameter-description': 'error' },
  overrides: [
    {
      // A WebSocket begins with 101 and has no other success.
      files: ['../../docs/openapi.json#/paths/~1api~1v1~1realtime/get/responses'],
      rules: { 'operation-success-response': 'off' },
    },
  ],
};
