// For our own packages and programs only: anything here may change in any version.

export { configWarnings } from './checks/config-warnings.ts';
export { checkStillDenies, type ListedRoles, roleWarning, strandedRoles } from './checks/listed-roles.ts';
export { checkListeners, openListeners } from './checks/open-listeners.ts';
export { builtInConfig, settleConfig } from './config.ts';
export {
  configFileNames,
  type FoundConfig,
  findConfig,
  ownConfigDirectory,
  repositoryOf,
  type SearchStart,
  searchedText,
} from './discovery/find-config.ts';
export { fileDigest } from './document/file-digest.ts';
export { changeObstacle, reloadObstacle } from './exposure/change-obstacle.ts';
export {
  exposedConfiguration,
  exposedTokens,
  exposesConfiguration,
  type GuardedFiles,
  heldBy,
  withExposureChecked,
} from './exposure/exposures.ts';
export { settledPath } from './exposure/settled-path.ts';
export { writableByOthers } from './exposure/writable-by-others.ts';
export { labelledConfig } from './labelled-config.ts';
export { formatListenAddress } from './listen-address.ts';
export { listenError, tryListening } from './listen-error.ts';
export { loadPlace, namedDataDirectories } from './load-config.ts';
export { type ImportPath, importPathText, parseImportPath } from './servers/import-path.ts';
export {
  type ImportedText,
  type Pointers,
  readImportedFile,
  readImportedFileInSteps,
} from './servers/imported-file.ts';
export { namedServers } from './servers/parse-mcp-file.ts';
