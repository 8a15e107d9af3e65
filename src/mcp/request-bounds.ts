import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

/** For ids and tokens. A UUID has 36 characters. */
const nameCharsMax = 200;
const addressCharsMax = 2_000;

/**
 * Refuses names that the client chose and that the library repeats: the id and the progress token in each message of an
 * answer, the addresses in its first one. Otherwise one request of 4 MB would make the node write as much for each event.
 */
export function checkNames(message: unknown): void {
  if (isLonger(fieldOf(message, 'id'), nameCharsMax)) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidRequest,
      `id has more than ${nameCharsMax} characters. Send a number, or a shorter text such as a UUID.`,
    );
  }
  const params = fieldOf(message, 'params');
  if (isLonger(fieldOf(fieldOf(params, '_meta'), 'progressToken'), nameCharsMax)) {
    const advice = 'Send a number, or a shorter text such as a UUID.';
    throw invalidParams(`params._meta.progressToken has more than ${nameCharsMax} characters. ${advice}`);
  }
  checkAddress(fieldOf(params, 'uri'), 'params.uri');
  const addresses = fieldOf(fieldOf(params, 'notifications'), 'resourceSubscriptions');
  if (!Array.isArray(addresses)) return;
  for (const [at, address] of addresses.entries())
    checkAddress(address, `params.notifications.resourceSubscriptions.${at}`);
}

function checkAddress(address: unknown, field: string): void {
  if (!isLonger(address, addressCharsMax)) return;
  const advice = 'resources/list and resources/templates/list tell the addresses that there are.';
  throw invalidParams(`${field} has more than ${addressCharsMax} characters. ${advice}`);
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

function isLonger(value: unknown, charsMax: number): boolean {
  return typeof value === 'string' && value.length > charsMax;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
