// The clients that turn to the platform, with no vendor behind it, and what comes of a call that is to fail.
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

export const openai = (at) => new OpenAI({ baseURL: `${at.baseUrl}/v1`, apiKey: at.key, maxRetries: 0 });
export const anthropic = (at) => new Anthropic({ baseURL: at.baseUrl, apiKey: at.key, maxRetries: 0 });
export const aiOpenai = (at) => createOpenAI({ baseURL: `${at.baseUrl}/v1`, apiKey: at.key });

/** The client's error; undefined if the call succeeds. */
export const failureOf = (call) =>
  call.then(
    () => undefined,
    (error) => error,
  );

export const wholeCases = (client, cases) =>
  Object.entries(cases).map(([feature, run]) => ({ client, feature, run }));

export const bothWays = (client, cases) =>
  Object.entries(cases).flatMap(([feature, run]) =>
    [false, true].map((stream) => ({ client, feature, stream, run: (at) => run(at, stream) })),
  );
