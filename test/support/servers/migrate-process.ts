// Migrates the database named by its argument and prints what it applied; several are run at once.
import { migrate } from '../../../src/infra/storage/index.js';

const [, , databaseUrl = ''] = process.argv;
const { applied } = await migrate({ databaseUrl });
process.stdout.write(JSON.stringify(applied));
