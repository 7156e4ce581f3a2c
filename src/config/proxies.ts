import { isIP } from "node:net";
import { ConfigError } from "./error.ts";

/** The addresses and subnets of the setting. Throws ConfigError. */
export function parseProxies(trustedProxies: string): string[] {
  const entries = trustedProxies.split(",").map((entry) => entry.trim());
  return entries.filter((entry) => entry !== "").map(checkProxy);
}

function checkProxy(entry: string): string {
  const [address = "", prefix = null, ...rest] = entry.split("/");
  const family = entry.includes("%") || rest.length > 0 ? 0 : isIP(address);
  if (family === 0)
    throw new ConfigError(
      `trustedProxies: "${entry}" is neither an IP address nor a subnet; give 10.0.0.7, 10.0.0.0/8 or ::1, with commas between them`,
    );
  const bits = family === 4 ? 32 : 128;
  if (prefix === null) return entry;
  if (!/^[0-9]{1,3}$/.test(prefix) || Number(prefix) > bits)
    throw new ConfigError(
      `trustedProxies: "${entry}" has a wrong prefix; valid: 1 to ${bits}, such as ${address}/${bits}`,
    );
  // The client would be the first entry, which it writes itself.
  if (Number(prefix) === 0)
    throw new ConfigError(
      `trustedProxies: "${entry}" names every client; name the proxies alone, such as ${family === 4 ? "10.0.0.7" : "::1"}`,
    );
  return entry;
}
