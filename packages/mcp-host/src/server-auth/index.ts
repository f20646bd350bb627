export type {
  AuthorizationCodeAuth,
  BearerAuth,
  ClientCredentialsAuth,
  OAuthClient,
  ServerAuth,
  TokenExchangeAuth,
} from './auth-config.ts';
export { secretsOfAuth } from './auth-secrets.ts';
export { authorizedFetch } from './authorized-fetch.ts';
export type { AuthEvent, Authorizer, AuthState } from './authorizer.ts';
export { type AuthorizerOptions, createAuthorizer, hostsOfAuth } from './create-authorizer.ts';
export { isAboutScope } from './oauth/challenge.ts';
export { signIn } from './sign-in/sign-in.ts';
export type { SignInOptions } from './sign-in/sign-in-flow.ts';
export { openRefreshTokenFiles, type RefreshTokenStore } from './sign-in/sign-in-store.ts';
