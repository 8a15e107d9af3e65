import { createHash } from 'node:crypto';

/**
 * The page of the join link. It is the same for every token: its script reads the token from the URL and sends it when
 * the form is submitted, so that opening the page does not use up the token (mail scanners open links too).
 */
const style = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 12vh auto; padding: 0 1rem; color: #1c2430; }
  label { display: block; margin-top: 1rem; }
  input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; margin-top: .25rem; }
  button { margin-top: 1.5rem; cursor: pointer; }
  [role=status] { margin-top: 1rem; min-height: 1.5em; }
`;

const script = `
  const form = document.querySelector('form');
  const status = document.querySelector('[role=status]');
  const token = new URLSearchParams(location.search).get('token');
  if (!token) { form.hidden = true; status.textContent = 'This link is incomplete. Open it again from the mail.'; }
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const { name, password } = Object.fromEntries(new FormData(form));
    form.querySelector('button').disabled = true;
    status.textContent = 'One moment …';
    try {
      const response = await fetch('/api/invites/accept', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, password, ...(name.trim() ? { name } : {}) }),
      });
      const answer = await response.json();
      if (response.ok) {
        form.hidden = true;
        history.replaceState(null, '', location.pathname);
        status.textContent = 'You have joined. From now on, sign in as ' + answer.data.user.email + '.';
        return;
      }
      status.textContent = answer.message;
    } catch {
      status.textContent = 'The server could not be reached. Try again.';
    }
    form.querySelector('button').disabled = false;
  });
`;

export const joinPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Join a team</title>
<style>${style}</style>
</head>
<body>
<h1>Join a team</h1>
<p>You were invited by mail. Choose a password of at least 10 characters, or, if you have an account already, give
its password.</p>
<form>
<label>Name <input name="name" autocomplete="name" maxlength="200"></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required maxlength="512"></label>
<button>Join</button>
</form>
<p role="status"></p>
<noscript>This page needs scripts. Without them, send the token to POST /api/invites/accept.</noscript>
<script>${script}</script>
</body>
</html>
`;

/** Allows only this script and style, and sends the token to no other origin. */
export const joinPageHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
