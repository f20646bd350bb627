import { readFileSync } from 'node:fs';

// Preloaded into a process, this shifts its wall clock by the milliseconds that stand in a file. The monotonic clock stays.

const file = process.env.SIGNALBOX_TEST_CLOCK;
const realNow = Date.now.bind(Date);

if (file !== undefined) Date.now = () => realNow() + Number(readFileSync(file, 'utf8'));
