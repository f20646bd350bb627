/** True in `npm run test:all`, which also runs what takes long and proves a kind of promise that shorter tests prove, too. */
export const runsAll = process.env.SIGNALBOX_TEST_ALL !== undefined;
/** True in the second part of `npm run test:all`: no orchestrator of these tests takes calls on lanes, so that all go through the broker. */
export const withoutLanes = process.env.SIGNALBOX_TEST_LANES === 'off';
