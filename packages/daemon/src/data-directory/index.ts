export {
  brokerKeeper,
  checkDataDirectory,
  dataDirectory,
  localBrokerUrl,
  operatorToken,
  orchestratorFiles,
  outsideTasksFile,
  runningAddresses,
  runningBroker,
  servedAgentsDirectory,
  workspaceRecordsDirectory,
} from './data-directory.ts';
