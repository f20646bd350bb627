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
  runningDirectories,
  servedAgentsDirectory,
  workspaceRecordsDirectory,
} from './data-directory.ts';
