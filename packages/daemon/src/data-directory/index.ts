export {
  dataDirectory,
  operatorToken,
  runningBrokerUrl,
  signInDirectory,
} from './data-directory.ts';
export { readTokenFile, tokenInText } from './token-file.ts';
