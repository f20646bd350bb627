export { deepestLevel, redactedData, withTexts } from './json-texts.ts';
export { type RedactorOptions, redactorOf, shortestSecret, withoutCutSecret } from './redact.ts';
export { isSecretName } from './secret-name.ts';
export {
  bodyWithoutSecrets,
  type JudgedValue,
  judgeValue,
  type SecretMark,
  type SecretReason,
  secretsByForm,
  shownExcerpt,
  withoutSecretForms,
  withoutSecrets,
} from './secret-rule.ts';
export { basicCredentials, secretsOfUrls } from './secrets.ts';
