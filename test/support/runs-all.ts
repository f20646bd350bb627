/** True in `npm run test:all`, which also runs what takes long and proves a kind of promise that shorter tests prove, too. */
export const runsAll = process.env.SIGNALBOX_TEST_ALL !== undefined;
