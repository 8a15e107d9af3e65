/**
 * The playground: a conversation with an agent through the public API only. The credential is kept in a variable of
 * this page and nowhere else. Everything from the server is shown as text, never as markup.
 */
import { TurnStream } from './turn-stream.js';

const byId = (id) => document.getElementById(id);
const page = {
  status: byId('status'),
  signIn: byId('sign-in'),
  withPassword: byId('with-password'),
  withKey: byId('with-key'),
  conversation: byId('conversation'),
  tenantField: byId('tenant-field'),
  tenant: byId('tenant'),
  agentField: byId('agent-field'),
  agent: byId('agent'),
  agentIdField: byId('agent-id-field'),
  agentId: byId('agent-id'),
  session: byId('session'),
  newSession: byId('new-session'),
  signOut: byId('sign-out'),
  messages: byId('messages'),
  composer: byId('composer'),
  message: byId('message'),
  send: byId('send'),
  cancel: byId('cancel'),
  reconnect: byId('reconnect'),
  events: byId('events'),
};

/** Beyond this, the oldest lines are removed: a long turn has thousands. */
const eventLinesMax = 500;

let credential = {};
let sessionId;
/** The running turn. */
let turn;

function element(name, { text, ...properties } = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

function showStatus(text, wrong = false) {
  page.status.textContent = text;
  page.status.classList.toggle('wrong', wrong);
}

async function request(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: { ...credential, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message ?? `The server answered ${response.status}.`);
  return answer;
}

/** Runs the action of a button and shows its error. */
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    showStatus(error instanceof TypeError ? 'The server could not be reached.' : error.message, true);
  }
}

function fill(select, items, selected) {
  select.replaceChildren(
    ...items.map(({ id, name }) => element('option', { value: id, text: name, selected: id === selected })),
  );
}

function enter(status) {
  page.withPassword.reset();
  page.withKey.reset();
  page.signIn.hidden = true;
  page.conversation.hidden = false;
  showStatus(status);
  page.message.focus();
}

async function listAgents() {
  const { data } = await request('GET', '/api/agents/published');
  fill(
    page.agent,
    data.map(({ id, name, commercial_name: shown }) => ({ id, name: shown || name })),
  );
  if (data.length === 0) showStatus('This tenant has no published agent.', true);
}

page.withPassword.addEventListener('submit', (event) => {
  event.preventDefault();
  const { email, password } = Object.fromEntries(new FormData(page.withPassword));
  void attempt(async () => {
    const { data } = await request('POST', '/api/auth/login', { email, password });
    const [first] = data.tenants;
    if (first === undefined) throw new Error('This account belongs to no tenant.');
    credential = { authorization: `Bearer ${data.access_token}`, 'x-tenant-id': first.id };
    fill(page.tenant, data.tenants, first.id);
    page.tenantField.hidden = false;
    page.agentField.hidden = false;
    page.agentIdField.hidden = true;
    enter(`Signed in as ${data.user.email}.`);
    await listAgents();
  });
});

// A key may run agents but not list them: its user must know the id of the agent.
page.withKey.addEventListener('submit', (event) => {
  event.preventDefault();
  credential = { 'x-api-key': new FormData(page.withKey).get('key').trim() };
  page.tenantField.hidden = true;
  page.agentField.hidden = true;
  page.agentIdField.hidden = false;
  enter('Using an API key. Enter the id of an agent.');
  page.agentId.focus();
});

page.tenant.addEventListener('change', () => {
  credential['x-tenant-id'] = page.tenant.value;
  startOver();
  void attempt(listAgents);
});
page.agent.addEventListener('change', startOver);
page.agentId.addEventListener('change', startOver);
page.newSession.addEventListener('click', () => {
  startOver();
  page.message.focus();
});
page.signOut.addEventListener('click', () => {
  credential = {};
  startOver();
  page.agentId.value = '';
  page.agent.replaceChildren();
  page.tenant.replaceChildren();
  page.conversation.hidden = true;
  page.signIn.hidden = false;
  showStatus('Signed out.');
});

/** A session belongs to one agent; the next message starts a new session. */
function startOver() {
  turn?.stream.leave();
  turn = undefined;
  sessionId = undefined;
  page.session.textContent = 'none yet';
  page.messages.replaceChildren();
  page.events.replaceChildren();
  showRunning();
}

function showRunning() {
  const running = turn !== undefined;
  page.send.disabled = running;
  page.cancel.disabled = !running;
  page.reconnect.disabled = !running;
}

page.composer.addEventListener('submit', (event) => {
  event.preventDefault();
  const message = page.message.value;
  if (turn !== undefined || message.trim() === '') return;
  page.message.value = '';
  void converse(message);
});
page.message.addEventListener('keydown', (event) => {
  // During text composition (IME), Enter confirms the composition.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  page.composer.requestSubmit();
});
page.cancel.addEventListener('click', () => {
  if (sessionId === undefined) return;
  void attempt(async () => {
    const { data } = await request('POST', `/api/v1/sessions/${encodeURIComponent(sessionId)}/cancel`);
    if (!data.cancelled) showStatus('There was no turn to cancel.');
  });
});
page.reconnect.addEventListener('click', () => turn?.stream.reconnect());

async function converse(message) {
  const agentId = page.agentField.hidden ? page.agentId.value.trim() : page.agent.value;
  for (const old of page.messages.querySelectorAll('.replies')) old.remove();
  page.messages.append(bubble('You', element('p', { className: 'text', text: message })));
  const view = answerView();
  const stream = new TurnStream({
    credential: () => credential,
    onEvent: (id, data) => {
      logEvent(id, data);
      view.show(data);
      if (data.type === 'metadata') {
        sessionId = data.session_id;
        page.session.textContent = data.session_id;
      }
    },
    onConnection: (state) => view.connection(state),
  });
  const current = { stream };
  turn = current;
  showRunning();
  await attempt(() =>
    stream.run(agentId, {
      message,
      ...(sessionId === undefined ? {} : { session_id: sessionId }),
      capabilities: { blocks: ['quick_replies'] },
    }),
  );
  if (turn !== current) return;
  turn = undefined;
  showRunning();
  page.message.focus();
}

function bubble(who, ...children) {
  return element('div', { className: 'message' }, element('p', { className: 'who', text: who }), ...children);
}

/** Shows one answer: thinking, tools, text, suggested replies, outcome. */
function answerView() {
  const thought = element('p', { className: 'text' });
  const thinking = element(
    'details',
    { className: 'thinking', hidden: true },
    element('summary', { text: 'Thinking' }),
    thought,
  );
  const tools = element('ul', { className: 'tools', hidden: true });
  const text = element('p', { className: 'text answer' });
  const note = element('p', { className: 'note' });
  const message = bubble('Agent', thinking, tools, text, note);
  const calls = new Map();
  page.messages.append(message);

  const views = {
    status({ state }) {
      note.textContent = state;
      if (state !== 'restarted') return;
      // Another node restarts the turn: its earlier output is void.
      text.textContent = '';
      thought.textContent = '';
    },
    phase({ name }) {
      note.textContent = name;
    },
    thinking({ content }) {
      thinking.hidden = false;
      thought.append(content);
    },
    delta({ content }) {
      text.append(content);
    },
    tool({ call_id: id, name, state, latency_ms: latency }) {
      tools.hidden = false;
      if (!calls.has(id)) {
        calls.set(id, element('li'));
        tools.append(calls.get(id));
      }
      calls.get(id).textContent = `${name}: ${state}${latency === undefined ? '' : ` (${latency} ms)`}`;
    },
    response({ content, blocks = [] }) {
      text.textContent = content;
      const labels = blocks.filter(({ type }) => type === 'quick_replies').flatMap(({ data }) => data.labels);
      if (labels.length > 0) message.insertBefore(replies(labels), note);
    },
    error(data) {
      showStatus(data.message, true);
    },
    done({ outcome }) {
      note.textContent = outcome;
      note.classList.toggle('wrong', outcome !== 'COMPLETED');
    },
  };
  return {
    show(data) {
      views[data.type]?.(data);
      page.messages.scrollTop = page.messages.scrollHeight;
    },
    connection(state) {
      note.textContent = state;
    },
  };
}

function replies(labels) {
  const buttons = labels.map((label) => {
    const button = element('button', { type: 'button', text: label });
    button.addEventListener('click', () => {
      if (turn === undefined) void converse(label);
    });
    return button;
  });
  return element('div', { className: 'replies', role: 'group', ariaLabel: 'Suggested replies' }, ...buttons);
}

function logEvent(id, { type, ...data }) {
  const line = element('li', { title: `id ${id}` }, element('b', { text: type }), ` ${JSON.stringify(data)}`);
  page.events.append(line);
  while (page.events.childElementCount > eventLinesMax) page.events.firstElementChild.remove();
  page.events.scrollTop = page.events.scrollHeight;
}
