import type { Client } from '#client';
import { didYouMean } from '../../../kernel/closest-name.js';
import { CommandError } from '../command.js';

interface Named {
  readonly id: string;
  readonly name: string;
}

export async function agentNamed(client: Client, name: string): Promise<Named> {
  return one('agent', name, await client.agents.list({ query: { limit: 100 } }).all());
}

export async function triggerNamed(client: Client, name: string): Promise<Named> {
  return one('trigger', name, await client.triggers.list({ query: { limit: 100 } }).all());
}

function one(kind: string, name: string, all: readonly Named[]): Named {
  const found = all.filter((each) => each.name === name);
  const [first] = found;
  if (first === undefined) {
    throw new CommandError(
      `There is no ${kind} ${name}.${didYouMean(
        name,
        all.map((each) => each.name),
      )}`,
    );
  }
  if (found.length > 1) {
    throw new CommandError(`There are ${found.length} ${kind}s with the name ${name}; name one by its id.`);
  }
  return first;
}
