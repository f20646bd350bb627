export { type BrokerProcess, type BrokerReady, brokerMain, startBrokerProcess } from './broker-process.ts';
export { type Child, type ChildEnd, startChild } from './child-process.ts';
export {
  type CounterLine,
  type CounterServerConfig,
  compileCache,
  counterServer,
  readCounter,
} from './counter.ts';
export { lastingPort } from './lasting-port.ts';
export { processFaults } from './process-faults.ts';
export { programOptions } from './program-options.ts';
export { auditEntries, lastCommit, storedRows } from './stored-rows.ts';
export { tempDir } from './temp-dir.ts';
export { type TestAuthority, type TestCertificate, testAuthority } from './test-authority.ts';
export { startTestBroker, type TestBroker } from './test-broker.ts';
export { type TestClock, testClock } from './test-clock.ts';
export { areStoresInFiles, storesOption, type TestStores } from './test-stores.ts';
export { connectWire, type WireClient, type WireFrame } from './wire-client.ts';
