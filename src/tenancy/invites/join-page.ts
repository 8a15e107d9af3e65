import { accountPage } from '../identity/index.js';
import type { RawReply } from '../../http/operations/index.js';
import type { InvitePreview } from './preview.js';

const script = `
  const form = document.querySelector('form');
  const status = document.querySelector('[role=status]');
  const token = new URLSearchParams(location.search).get('token');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const { name, password } = Object.fromEntries(new FormData(form));
    form.querySelector('button').disabled = true;
    status.textContent = 'One moment …';
    try {
      const response = await fetch('/api/invites/accept', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, password, ...(name && name.trim() ? { name } : {}) }),
      });
      const answer = await response.json();
      if (response.ok) {
        form.hidden = true;
        history.replaceState(null, '', location.pathname);
        status.textContent = 'You have joined. From now on, sign in as ' + answer.data.user.email + '.';
        // Signs this browser in, so that the console opens. Without it, the console asks for the password.
        await fetch('/api/console/session', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ refresh_token: answer.data.refresh_token }),
        }).catch(() => undefined);
        document.querySelector('#console').hidden = false;
        return;
      }
      status.textContent = answer.message;
    } catch {
      status.textContent = 'The server could not be reached. Try again.';
    }
    form.querySelector('button').disabled = false;
  });
`;

const passwordOf = {
  existing:
    '<label>Password of your account <input name="password" type="password" autocomplete="current-password" required maxlength="512"></label>',
  fresh: `<label>Name <input name="name" autocomplete="name" maxlength="200"></label>
<label>New password, at least 10 characters <input name="password" type="password" autocomplete="new-password" required minlength="10" maxlength="512"></label>`,
};

/** The page of a join link. Opening it does not use up the token: mail scanners open links too. */
export function joinPage(preview: InvitePreview): RawReply {
  const title = 'Join a team';
  const without = 'Without scripts, send the token to POST /api/invites/accept.';
  if (!preview.usable) return accountPage({ title, problem: preview.reason });
  const { tenant, inviter, email, role, hasAccount } = preview;
  return accountPage({
    title,
    facts: [
      ['Team', tenant],
      ['Role', role],
      ['Invited by', inviter],
      ['Address', email],
    ],
    form: { fields: passwordOf[hasAccount ? 'existing' : 'fresh'], button: 'Join', script, without },
  });
}
