import type { TurnEvent } from '@troupe/client';
import test from 'ava';
import type { StreamEvent } from '../../../src/conversations/invocation/events.js';

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;

/** The compiler refuses this file if the client's events are not those of the platform. */
const same: Same<TurnEvent, StreamEvent> = true;

test("the client's events are those that the platform sends", (t) => {
  t.true(same);
});
