import { z } from 'zod';
import {
  anyone,
  apiKey,
  declare,
  done,
  doneShape,
  one,
  oneShape,
  type Operation,
  user,
} from '../../http/operations/index.js';
import { keyTokenSeconds } from './access-tokens.js';
import type { AccountChanges } from './account-changes.js';
import { givenPassword, newPassword } from './fields.js';
import type { KeySignIn } from './key-sign-in.js';
import { resetPage, verifyPage } from './mail-pages.js';
import type { PasswordReset } from './password-reset.js';
import type { Verification } from './verification.js';

/** Far above the length of an issued token. */
const token = z.string().min(1).max(512);
const pageQuery = z.object({ token: z.string().max(512).optional() });

export interface AccountOperationParts {
  readonly verification: Verification;
  readonly passwordReset: PasswordReset;
  readonly accountChanges: AccountChanges;
  readonly keySignIn: KeySignIn;
}

export function accountOperations(parts: AccountOperationParts): readonly Operation[] {
  return [
    ...verifyOperations(parts),
    ...passwordOperations(parts),
    ...endingOperations(parts),
    keyToken(parts),
    ...pages(parts),
  ];
}

function verifyOperations({ verification }: AccountOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'auth.verify',
      method: 'POST',
      audit: { action: 'auth.verify', by: 'subject' },
      path: '/api/auth/verify',
      title: 'Verify an address with the token of a mail',
      access: anyone(),
      body: z.object({ token }),
      output: doneShape,
      errors: ['not_found'],
      handle: async ({ body }) => {
        await verification.verify(body.token);
        return done('The address is verified.');
      },
    }),
    declare({
      name: 'auth.verify-resend',
      method: 'POST',
      audit: { exempt: 'a mail to the address of the account changes nothing' },
      path: '/api/auth/verify/resend',
      title: 'Send the verification mail again',
      description: 'At most 5 an hour. A verified address gets no mail.',
      access: user(),
      output: doneShape,
      status: 202,
      handle: async ({ caller }) => {
        const result = await verification.resend(caller.userId);
        return done(result === 'sent' ? 'The mail is on its way.' : 'The address is verified already.');
      },
    }),
  ];
}

function passwordOperations({ accountChanges, passwordReset }: AccountOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'auth.password',
      method: 'POST',
      audit: { action: 'auth.password', by: 'subject' },
      path: '/api/auth/password',
      title: 'Change the password',
      description:
        'Ends every other sign-in of the user. A wrong current password counts as a failed sign-in.',
      access: user(),
      body: z.object({ current_password: givenPassword, new_password: newPassword }),
      output: doneShape,
      errors: ['invalid_credentials', 'service_unavailable'],
      handle: async ({ caller, body }) => {
        await accountChanges.changePassword(caller, body.current_password, body.new_password);
        return done('The password is changed; other sign-ins have ended.');
      },
    }),
    declare({
      name: 'auth.password-forgot',
      method: 'POST',
      audit: { exempt: 'a mail changes nothing; the reset has the entry' },
      path: '/api/auth/password/forgot',
      title: 'Request a mail with a link to choose a new password',
      description: 'The answer is the same whether the address has an account or not.',
      access: anyone(),
      body: z.object({ email: z.string().min(1).max(254) }),
      output: doneShape,
      status: 202,
      handle: async ({ body }) => {
        await passwordReset.request(body.email);
        return done('If the address has an account, a mail with a link is on its way.');
      },
    }),
    declare({
      name: 'auth.password-reset',
      method: 'POST',
      audit: { action: 'auth.password-reset', by: 'subject' },
      path: '/api/auth/password/reset',
      title: 'Set a new password with the token of a mail',
      description: 'Ends every sign-in of the user, and verifies the address.',
      access: anyone(),
      body: z.object({ token, new_password: newPassword }),
      output: doneShape,
      errors: ['not_found', 'service_unavailable'],
      handle: async ({ body }) => {
        await passwordReset.reset(body.token, body.new_password);
        return done('The password is set. Sign in with it.');
      },
    }),
  ];
}

function endingOperations({ accountChanges }: AccountOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'auth.logout-all',
      method: 'POST',
      audit: { action: 'auth.logout-all', by: 'subject' },
      path: '/api/auth/logout-all',
      title: 'Sign out everywhere',
      description: 'Every refresh token of the user ends; access tokens stop working within a second.',
      access: user(),
      output: doneShape,
      handle: async ({ caller }) => {
        await accountChanges.signOutEverywhere(caller);
        return done('Every sign-in has ended.');
      },
    }),
    declare({
      name: 'auth.delete-me',
      method: 'DELETE',
      audit: { action: 'auth.delete-me', by: 'subject' },
      path: '/api/auth/me',
      title: 'Delete the account',
      description:
        'Refused with `conflict` while the user is the last owner of a tenant. Records that name the user show `deleted user`.',
      access: user(),
      body: z.object({ password: givenPassword }),
      output: doneShape,
      errors: ['invalid_credentials', 'conflict', 'service_unavailable'],
      handle: async ({ caller, body }) => {
        await accountChanges.remove(caller, body.password);
        return done('The account is deleted.');
      },
    }),
  ];
}

function keyToken({ keySignIn }: AccountOperationParts): Operation {
  return declare({
    name: 'auth.token',
    method: 'POST',
    audit: 'auth.token',
    idempotency: { exempt: 'nothing is stored; each token lives 15 minutes' },
    path: '/api/auth/token',
    title: 'Exchange an API key for a short access token that acts as the key',
    description:
      'For API keys of role owner or admin: the token has the tenant, the role and the limits of the key, ends with it, and ' +
      'reaches operations that accept access tokens only, except those of an account (`/api/auth`).',
    access: apiKey('keys:token'),
    output: oneShape(
      z.object({
        access_token: z.string(),
        token_type: z.literal('Bearer'),
        expires_in: z.literal(keyTokenSeconds),
      }),
    ),
    handle: async ({ caller }) =>
      one({
        access_token: await keySignIn.tokenFor(caller),
        token_type: 'Bearer' as const,
        expires_in: keyTokenSeconds,
      }),
  });
}

function pages({ verification, passwordReset }: AccountOperationParts): readonly Operation[] {
  const description =
    'Shows the address, or why the link cannot be used. Opening the page does not use the token up.';
  return [
    declare({
      name: 'auth.verify-page',
      method: 'GET',
      path: '/verify',
      title: 'The page of a verification link',
      description,
      access: anyone(),
      query: pageQuery,
      output: z.string(),
      contentType: 'text/html',
      handle: async ({ query }) => verifyPage(await verification.addressOf(query.token ?? '')),
    }),
    declare({
      name: 'auth.reset-page',
      method: 'GET',
      path: '/reset',
      title: 'The page of a link to choose a new password',
      description,
      access: anyone(),
      query: pageQuery,
      output: z.string(),
      contentType: 'text/html',
      handle: async ({ query }) => resetPage(await passwordReset.addressOf(query.token ?? '')),
    }),
  ];
}
