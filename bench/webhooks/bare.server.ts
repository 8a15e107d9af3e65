import { serveIntake } from './hand-written.js';

// The same check, and nothing is kept.
serveIntake(
  () => undefined,
  async () => undefined,
);
