import { ConfigError } from "./error.ts";

/** The origins of the setting, each as a browser sends it, or "*" for all that read public data. Throws ConfigError. */
export function parseOrigins(allowedOrigins: string): string[] {
  const origins = allowedOrigins.split(",").map((entry) => entry.trim());
  return origins.filter((entry) => entry !== "").map(parseOrigin);
}

function parseOrigin(text: string): string {
  if (text === "*") return text;
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null;
  // The path of an origin alone is "/".
  if (url !== null && url.href === `${url.origin}/` && !/[?#*]/.test(text)) return url.origin;
  throw new ConfigError(
    `allowedOrigins: "${text}" is not an origin; give a scheme, a host and perhaps a port, such as https://app.example.com, or * for public data`,
  );
}

const LOOPBACK = /^(localhost|127(\.[0-9]+){3}|\[::1\])$/;

/** Throws ConfigError for a URL that cannot be used. Does not repeat it, since it may hold a key. */
export function warningOfRpc(ethereumRpcUrl: string): string[] {
  if (ethereumRpcUrl === "") return [];
  const url = URL.canParse(ethereumRpcUrl) ? new URL(ethereumRpcUrl) : null;
  if (url === null || url.username + url.password !== "")
    throw new ConfigError("ethereumRpcUrl: the value is not an http or https URL without a user");
  if (url.protocol === "https:" || LOOPBACK.test(url.hostname)) return [];
  return [
    "ethereumRpcUrl: over http everybody on the way can log in as another account; use https, or a node on this machine",
  ];
}
