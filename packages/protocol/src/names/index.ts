export { isAgentId, isOperator } from './address.ts';
export { type BrokerAddress, parseBrokerAddresses, untrustedDirectory } from './broker-address.ts';
export { idPattern } from './message-id.ts';
export {
  agentOfToken,
  isJwt,
  issuerOfToken,
  mintingPatternOf,
  parseTokenFile,
  type TokenFile,
  tokenFileFault,
  tokenFileProblem,
  withoutTokens,
} from './token-text.ts';
