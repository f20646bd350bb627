/** True for the names and addresses of the machine itself, as one listens at them: an IPv6 address without brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
