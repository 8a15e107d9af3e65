import test from 'ava';
import { controllerOfMany } from '../../../src/kernel/leave-signal.js';
import { eventually } from '../../support/clocks/eventually.js';

test('a signal with a listener for each open stream warns of no leak', async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  const { signal } = controllerOfMany();
  for (let stream = 0; stream < 100; stream += 1) signal.addEventListener('abort', () => undefined);
  // Warnings are told in their order.
  process.emitWarning('the last one');
  await eventually(() => warnings.some(({ message }) => message === 'the last one'));
  t.false(warnings.some(({ name }) => name === 'MaxListenersExceededWarning'));
});
