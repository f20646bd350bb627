export { withTexts } from './json-texts.ts';
export { redactorOf, withoutCutSecret } from './redact.ts';
export { redactedData } from './redacted-data.ts';
export { basicCredentials, secretsOfHeader, secretsOfUrl } from './secrets.ts';
