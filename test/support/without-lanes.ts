/** True in the second part of `npm run test:long`: no orchestrator of these tests takes calls on lanes, so that all go through the broker. */
export const withoutLanes = process.env.SIGNALBOX_TEST_LANES === 'off';
