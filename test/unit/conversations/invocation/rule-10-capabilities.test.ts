import test from 'ava';
import { storedAnswer } from '../../../../src/conversations/invocation/index.js';
import { quickRepliesOf } from '../../../../src/conversations/turns/quick-replies.js';
import { ignored, person, read, refused } from './reading.js';

test('a client that declares quick replies may get them, with any credential', (t) => {
  const turn = read({ capabilities: { blocks: ['quick_replies'] } }, person);
  t.true(turn.capabilities.quickReplies);
  t.deepEqual(turn.acceptedFields, ['message', 'capabilities']);
  t.deepEqual(turn.ignoredFields, []);
});

test('a client that declares no block gets none', (t) => {
  t.false(read({}).capabilities.quickReplies);
  t.false(read({ capabilities: { blocks: [] } }).capabilities.quickReplies);
});

test('unknown blocks and unknown keys are listed, each with its reason', (t) => {
  const turn = read({ capabilities: { blocks: ['cards', 'quick_replies', 'cards'], voice: true } });
  t.deepEqual(ignored(turn), {
    'capabilities.voice': 'unknown_field',
    'capabilities.blocks.cards': 'not_supported',
  });
  t.true(turn.capabilities.quickReplies);
});

test('a wrong format is refused', (t) => {
  for (const wrong of [null, [], 'x', 1, true]) refused(t, { capabilities: wrong }, 'capabilities');
  for (const wrong of [null, {}, 'quick_replies', [1], [null], Array.from({ length: 11 }, () => 'x')])
    refused(t, { capabilities: { blocks: wrong } }, 'capabilities.blocks');
  t.notThrows(() => read({ capabilities: { blocks: Array.from({ length: 10 }, () => 'x') } }));
});

const labelsOf = (labels: unknown): readonly string[] | undefined => quickRepliesOf({ labels })?.data.labels;

test('a group of up to 4 labels of at most 60 characters becomes a block', (t) => {
  const labels = ['Yes', 'No', 'x'.repeat(60), 'Later'];
  t.deepEqual(quickRepliesOf({ labels }), { type: 'quick_replies', data: { labels } });
  t.deepEqual(labelsOf(['  two\nlines ']), ['two lines']);
});

test('suggestions beyond the limit are cut, and unusable ones are dropped', (t) => {
  t.deepEqual(labelsOf(['1', '2', '3', '4', '5']), ['1', '2', '3', '4']);
  t.is(labelsOf(['x'.repeat(61)])?.[0]?.length, 60);
  t.deepEqual(labelsOf(['Yes', '', ' ', 'Yes', 7]), ['Yes']);
  for (const nothing of [[], [''], 'Yes', [1], null]) t.is(labelsOf(nothing), undefined);
});

test('a turn with only suggestions is stored as numbered label lines', (t) => {
  const blocks = [{ type: 'quick_replies', data: { labels: ['Yes', 'No'] } }] as const;
  t.deepEqual(storedAnswer('', blocks), {
    content: '1. Yes\n2. No',
    metadata: { content_from_blocks: true },
  });
  t.deepEqual(storedAnswer('Shall I?', blocks), { content: 'Shall I?', metadata: {} });
  t.deepEqual(storedAnswer('', []), { content: '', metadata: {} });
});
