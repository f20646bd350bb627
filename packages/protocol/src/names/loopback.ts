/** Tells whether a host is a loopback name or address of this machine. An IPv6 address must be given without brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
