export { openJwtProvider } from './jwt-provider.ts';
export { usableKeys } from './provider-keys.ts';
