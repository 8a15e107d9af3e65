/** The request that begins a session in the present revision of the protocol. */
const greeting = 'server/discover';
const methodNotFound = -32_601;

/**
 * Servers of earlier revisions answer the greeting with an error, and the session continues in their revision.
 * Simple servers treat an unknown method as a notification or fail on it, and the package would wait until its time
 * limit. This function answers in their place.
 */
export async function greetingAnswered(body: unknown, answer: Response): Promise<Response> {
  if (typeof body !== 'string' || !body.includes(`"${greeting}"`) || isAnswer(answer)) return answer;
  const id = idOf(body);
  if (id === undefined) return answer;
  await answer.body?.cancel();
  return Response.json({
    jsonrpc: '2.0',
    id,
    error: { code: methodNotFound, message: `The server does not know ${greeting}.` },
  });
}

/** The package handles other errors (a missing credential, a wrong address) itself. */
function isAnswer({ status, headers }: Response): boolean {
  if (status >= 500 || status === 202 || status === 204) return false;
  return (
    status !== 200 || /^(?:application\/json|text\/event-stream)\b/i.test(headers.get('content-type') ?? '')
  );
}

function idOf(body: string): string | number | undefined {
  const { method, id } = JSON.parse(body) as { readonly method?: unknown; readonly id?: unknown };
  return method === greeting && (typeof id === 'string' || typeof id === 'number') ? id : undefined;
}
