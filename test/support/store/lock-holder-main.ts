import { lockDataDirectory } from '@signalbox/store/internal';

await lockDataDirectory(process.argv[2]!, { startedAt: 1 });
process.stdout.write('locked\n');
setInterval(() => {}, 60_000);
