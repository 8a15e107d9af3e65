import type { RawReply } from '../../http/operations/index.js';
import { accountPage } from './account-page.js';

const unusable = 'This link was used, has expired or is unknown. Request a new one.';

/** `values`: an expression for the fields of the form besides the token. */
function scriptOf(address: string, values: string): string {
  return `
  const form = document.querySelector('form');
  const status = document.querySelector('[role=status]');
  const token = new URLSearchParams(location.search).get('token');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    form.querySelector('button').disabled = true;
    status.textContent = 'One moment …';
    try {
      const response = await fetch('${address}', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, ...${values} }),
      });
      const answer = await response.json();
      status.textContent = answer.message;
      if (response.ok) {
        form.hidden = true;
        document.querySelector('#console').hidden = false;
        history.replaceState(null, '', location.pathname);
        return;
      }
    } catch {
      status.textContent = 'The server could not be reached. Try again.';
    }
    form.querySelector('button').disabled = false;
  });
`;
}

const verifyScript = scriptOf('/api/auth/verify', '{}');
const resetScript = scriptOf(
  '/api/auth/password/reset',
  "{ new_password: new FormData(form).get('new_password') }",
);
const newPasswordField =
  '<label>New password, at least 10 characters <input name="new_password" type="password" autocomplete="new-password" required minlength="10" maxlength="512"></label>';

/** `email`: the address that the token proves; undefined if it proves none. */
export function verifyPage(email: string | undefined): RawReply {
  const title = 'Confirm your address';
  if (email === undefined) return accountPage({ title, problem: unusable });
  return accountPage({
    title,
    facts: [['Address', email]],
    form: {
      fields: '',
      button: 'Confirm',
      script: verifyScript,
      without: 'Without scripts, send the token to POST /api/auth/verify.',
    },
  });
}

export function resetPage(email: string | undefined): RawReply {
  const title = 'Choose a new password';
  if (email === undefined) return accountPage({ title, problem: unusable });
  return accountPage({
    title,
    facts: [['Account', email]],
    form: {
      fields: newPasswordField,
      button: 'Set the password',
      script: resetScript,
      without: 'Without scripts, send the token to POST /api/auth/password/reset.',
    },
  });
}
