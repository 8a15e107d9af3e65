import test from 'ava';
import { z } from 'zod';
import { turnEventShape } from '../../src/conversations/invocation/index.js';
import { eventsIn, holdEvent } from '../support/clients/declared-events.js';

test('an event that is not as declared, or says more, is told', (t) => {
  t.notThrows(() => holdEvent(turnEventShape, { type: 'delta', content: 'a' }));
  t.throws(() => holdEvent(turnEventShape, { type: 'delta', content: 'a', more: 1 }), {
    message: /undeclared/,
  });
  t.throws(() => holdEvent(turnEventShape, { type: 'delta' }), { message: /not as declared/ });
  t.throws(() => holdEvent(turnEventShape, { type: 'other' }), { message: /not as declared/ });
  t.notThrows(() => holdEvent(z.looseObject({}), { more: 1 }));
});

test('the events of a text are its data, without comments and the end mark', (t) => {
  t.deepEqual(eventsIn(': open\n\nid: 1\nevent: a\ndata: {"a":1}\n\ndata: [DONE]\n\n'), [{ a: 1 }]);
});
