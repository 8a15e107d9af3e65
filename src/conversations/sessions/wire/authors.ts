import {
  type Author as AuthorMessage,
  Author_Kind as Kind,
} from '../../../../generated/troupe/actors/v1/session.js';
import { wireEnum } from '../../../infra/runtime/index.js';
import type { Author } from '../../invocation/index.js';

const kinds = wireEnum<Author['kind'], Kind>('Author.kind', {
  consumer: Kind.CONSUMER,
  user: Kind.USER,
  key: Kind.KEY,
  trigger: Kind.TRIGGER,
  agent: Kind.AGENT,
});

export function authorToWire({ kind, id, others = [] }: Author): AuthorMessage {
  return { kind: kinds.toWire(kind), id, others: [...others] };
}

export function authorFromWire({ kind, id, others }: AuthorMessage): Author {
  return { kind: kinds.fromWire(kind), id, ...(others.length === 0 ? {} : { others }) };
}
