/** The question of the present revision of the protocol, with which a session begins. */
const greeting = 'server/discover';
const methodNotFound = -32_601;

/**
 * Servers of earlier revisions answer the greeting with an error, and the session goes on as they know it. Simple ones
 * take any method that they do not know for a notification, or fall over it, and the package would wait for an answer
 * until its time is over: for those it is given here.
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

/** What else is wrong (a missing credential, an address of nobody) the package reads by itself. */
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
