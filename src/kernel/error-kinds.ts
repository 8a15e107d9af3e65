import { type ErrorKind, turnErrorKinds } from './turn-error-kinds.js';

const signIn = 'Sign in again with POST /api/auth/login, or refresh the token.';
const askAdministrator = 'Ask an owner or admin of the tenant, or use a credential with a higher role.';
const seeDetails = 'Correct the field that `details.field` names.';
const checkAddress = 'Check the id and the tenant; lists show what exists.';
const retrySoon = 'Retry after a few seconds; honour Retry-After.';
const reportIt = 'Retry once. If it stays, report the X-Request-Id to the operator, whose log has the cause.';

/**
 * Every error of the platform in one table. The code says what happened, in one spelling for the whole program; clients
 * see the spelling of their dialect (`http/operations/dialect.ts`). The public errors endpoint shows only the fixed
 * message, so no entry may contain data of a tenant. `docs/errors.md` is written from this table.
 */
export const errorKinds = {
  // Credentials and permissions
  authentication_required: {
    status: 401,
    retry: 'never',
    message: 'This request needs a credential.',
    advice: 'Send an API key in X-Api-Key or an access token in Authorization, as the operation requires.',
  },
  invalid_api_key: {
    status: 401,
    retry: 'never',
    message: 'The API key is unknown, revoked or expired.',
    advice: 'Check the key, or create another one.',
  },
  invalid_token: {
    status: 401,
    retry: 'never',
    message: 'The access token is not valid or has expired.',
    advice: signIn,
  },
  invalid_credentials: {
    status: 401,
    retry: 'never',
    message: 'The address or the password is wrong.',
    advice: 'Check both. After ten failures an account waits for 15 minutes.',
  },
  invalid_signature: {
    status: 401,
    retry: 'never',
    message: 'The signature is missing or does not match.',
    advice: "Sign the raw body with the trigger's webhook_secret, and check the timestamp.",
  },
  chat_disabled: {
    status: 403,
    retry: 'never',
    message: 'Chat is switched off for this agent.',
    advice: 'Set chat_enabled of the agent to true and publish it, or reach it by a trigger.',
  },
  insufficient_permissions: {
    status: 403,
    retry: 'never',
    message: 'The role does not allow this operation.',
    advice: askAdministrator,
  },
  address_not_allowed: {
    status: 403,
    retry: 'never',
    message: "The API key may not be used from the client's address.",
    advice: 'Use an address of the allowed_ips of the key, or change them with PATCH /api/keys/:keyId.',
  },
  origin_not_allowed: {
    status: 403,
    retry: 'never',
    message: 'The public key may not be used from this page.',
    advice:
      "Add the page's origin to the origins of the key with PATCH /api/keys/:keyId, or use a key of it.",
  },
  registration_closed: {
    status: 403,
    retry: 'never',
    message: 'This installation does not accept this registration.',
    advice: 'Ask the operator, or an owner or admin of a tenant for an invitation.',
  },
  email_unverified: {
    status: 403,
    retry: 'never',
    message: 'No owner of the tenant has verified their email address.',
    advice: 'Open the link in the verification mail; POST /api/auth/verify/resend sends another.',
  },
  tenant_suspended: {
    status: 403,
    retry: 'never',
    message: 'The operator has suspended this tenant.',
    advice: 'Ask the operator of the installation for the reason and for the resumption.',
  },
  ROLE_ESCALATION_DENIED: {
    status: 403,
    retry: 'never',
    message: 'The role is above the role of the caller.',
    advice: askAdministrator,
  },
  // The request
  validation_error: {
    status: 400,
    retry: 'never',
    message: 'The request is not valid.',
    advice: seeDetails,
  },
  missing_required_field: {
    status: 400,
    retry: 'never',
    message: 'A required field is missing.',
    advice: 'Add the field that `details.field` names.',
  },
  missing_tenant: {
    status: 400,
    retry: 'never',
    message: 'The header x-tenant-id is required.',
    advice: 'Name the tenant in x-tenant-id; GET /api/auth/me lists your tenants.',
  },
  unknown_field: {
    status: 400,
    retry: 'never',
    message: 'The body has a field that this operation does not know.',
    advice: 'Correct or remove the field that `details.field` names.',
  },
  unknown_parameter: {
    status: 400,
    retry: 'never',
    message: 'The address has a mistyped query parameter.',
    advice: 'Correct or remove the parameter that `details.field` names.',
  },
  malformed_body: {
    status: 400,
    retry: 'never',
    message: 'The body cannot be read.',
    advice: 'Send well-formed JSON in UTF-8.',
  },
  no_message: {
    status: 400,
    retry: 'never',
    message: 'The payload contains no message for the agent.',
    advice:
      "Compare the payload with the trigger's query_extraction; POST /api/triggers/:id/test shows what it finds.",
  },
  TELEMETRY_MISSING_DATE_RANGE: {
    status: 400,
    retry: 'never',
    message: 'start_date and end_date are required.',
    advice: 'Add both as dates, for example start_date=2026-01-01&end_date=2026-01-31.',
  },
  CONTEXT_PARAM_MISSING: {
    status: 400,
    retry: 'never',
    message: 'A parameter from the context is missing.',
    advice: 'Send the value in `context` or `bindings`. Only the model sees this code.',
  },
  invalid_model: {
    status: 400,
    retry: 'never',
    message: 'The model is unknown or not available.',
    advice: 'Choose a model of GET /api/v3/llm/models that is available, or `auto`.',
  },
  invalid_model_for_key: {
    status: 403,
    retry: 'never',
    message: 'The API key may not use the model.',
    advice: 'Choose a model of the allowed_models of the key, or change them with PATCH /api/keys/:keyId.',
  },
  invalid_provider: {
    status: 400,
    retry: 'never',
    message: 'The provider is not supported.',
    advice: 'Choose a vendor of GET /api/v3/llm/models, or leave `provider` out.',
  },
  unsupported_content: {
    status: 400,
    retry: 'never',
    message: 'The model does not accept a part of the request, such as an image or a file.',
    advice: 'Leave out the part that `details.field` names, or choose a model with its capability.',
  },
  method_not_allowed: {
    status: 405,
    retry: 'never',
    message: 'The method is not allowed on this address.',
    advice: 'Use a method of the Allow header.',
  },
  payload_too_large: {
    status: 413,
    retry: 'never',
    message: 'The request body is too large.',
    advice: 'Send less; the message names the limit.',
  },
  unsupported_media_type: {
    status: 415,
    retry: 'never',
    message: 'The content type is not supported here.',
    advice: 'Send application/json.',
  },
  upgrade_required: {
    status: 426,
    retry: 'never',
    message: 'This address speaks WebSocket; the request did not ask for it.',
    advice: 'Connect with a WebSocket client, or read GET /api/v1/realtime/events.',
  },
  client_closed: {
    status: 499,
    retry: 'later',
    message: 'The client disconnected before the answer was complete.',
    advice: 'Nobody receives this answer: it appears in logs and metrics, and counts as no error.',
  },
  // What exists
  not_found: {
    status: 404,
    retry: 'never',
    message: 'The resource was not found.',
    advice: checkAddress,
  },
  agent_not_found: {
    status: 404,
    retry: 'never',
    message: 'The agent was not found.',
    advice: 'Check the id. Members and triggers reach published agents only.',
  },
  tenant_not_found: {
    status: 404,
    retry: 'never',
    message: 'The tenant was not found.',
    advice: 'Check x-tenant-id; GET /api/auth/me lists your tenants.',
  },
  conflict: {
    status: 409,
    retry: 'never',
    message: 'The request conflicts with what already exists.',
    advice: 'Read the resource, then change the request: another name, or another state first.',
  },
  idempotency_key_reused: {
    status: 409,
    retry: 'never',
    message: 'The idempotency key was used before, with another body.',
    advice: 'Use a new key for each new request.',
  },
  trigger_disabled: {
    status: 409,
    retry: 'never',
    message: 'The trigger is disabled.',
    advice: 'Enable it with POST /api/triggers/:id/enable.',
  },
  revocation_failed: {
    status: 400,
    retry: 'never',
    message: 'The key is already revoked.',
    advice: 'Nothing is left to do.',
  },
  INVALID_SESSION_STATE: {
    status: 409,
    retry: 'never',
    message: 'The session is in another state.',
    advice: 'Take the session over first with POST /api/v1/sessions/:id/handoff.',
  },
  NO_TRIGGER_HISTORY: {
    status: 422,
    retry: 'never',
    message: 'The session has no trigger to answer through.',
    advice: 'Manual messages need a session that a webhook began.',
  },
  NO_CALLBACK_CONFIG: {
    status: 422,
    retry: 'never',
    message: 'The trigger has no outbound callback.',
    advice: 'Set trigger_config.execution.callback or a channel.',
  },
  // Limits
  rate_limit_exceeded: {
    status: 429,
    retry: 'later',
    message: 'Too many requests.',
    advice: 'Wait for the seconds of Retry-After.',
  },
  quota_exceeded: {
    status: 429,
    retry: 'later',
    message: 'The quota is used up.',
    advice:
      'Wait for `details.reset_date` or `details.resets_at`, use a vendor key of your own, or change the plan.',
  },
  plan_limit_exceeded: {
    status: 403,
    retry: 'never',
    message: "The value is above the plan's limit.",
    advice: 'Choose a lower value, or change the plan.',
  },
  MODEL_TIER_RESTRICTED: {
    status: 403,
    retry: 'never',
    message: "The model is outside the plan's tiers.",
    advice: 'Choose a model of `details.allowed_tiers`, use a vendor key of your own, or change the plan.',
  },
  // The platform and the services that it calls
  internal_error: { status: 500, retry: 'later', message: 'An unexpected error occurred.', advice: reportIt },
  creation_failed: {
    status: 500,
    retry: 'later',
    message: 'The resource could not be created.',
    advice: reportIt,
  },
  service_unavailable: {
    status: 503,
    retry: 'later',
    message: 'The service is temporarily unavailable.',
    advice: retrySoon,
  },
  provider_error: {
    status: 502,
    retry: 'later',
    message: 'The upstream service answered with an error.',
    advice:
      'Read `details.provider` and `details.original_error`: the service and what it answered. The compatible endpoints have both in the message.',
  },
  response_format_mismatch: {
    status: 502,
    retry: 'later',
    message: 'The answer of the model does not fit the response_format, also after a second try.',
    advice: 'Simplify the schema, describe it in the prompt, or choose a model with structured_output.',
  },
  provider_unavailable: {
    status: 503,
    retry: 'later',
    message: 'The provider is temporarily unavailable.',
    advice: 'Retry later, or choose a model of another vendor.',
  },
  provider_timeout: {
    status: 504,
    retry: 'later',
    message: 'The provider did not answer in time.',
    advice: 'Retry, ask for less, or choose a faster model.',
  },
  DELIVERY_FAILED: {
    status: 502,
    retry: 'later',
    message: 'The outbound channel returned an error.',
    advice: "Check the callback's address and secret; the message says what it answered.",
  },
  ...turnErrorKinds,
  EXECUTION_TIMEOUT: {
    status: 504,
    retry: 'later',
    message: 'The execution did not answer in time.',
    advice: 'Continue with GET /api/v1/executions/:id/stream; the turn itself may have ended well.',
  },
  STREAM_TIMEOUT: {
    status: 504,
    retry: 'later',
    message: 'The stream reached its time limit.',
    advice: 'Open the stream again.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorKinds;
