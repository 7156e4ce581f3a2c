import { ConfigError } from "./error.ts";

/** The origins of the setting, each as a browser sends it, or "*" for all that read public data. Throws ConfigError. */
export function parseOrigins(allowedOrigins: string): string[] {
  const origins = allowedOrigins.split(",").map((entry) => entry.trim());
  return origins.filter((entry) => entry !== "").map(parseOrigin);
}

const parseOrigin = (text: string): string =>
  text === "*" ? text : originOf("allowedOrigins", text, "https://app.example.com, or * for public data");

/** Gateways and clients add their own paths to it. Throws ConfigError. */
export const parsePublicUrl = (text: string): string => originOf("publicUrl", text, "http://10.0.0.1:8080");

/** Perpd prints its own address with this path. */
const API_PATH = /\/v1\/?$/;

/** A gateway adds the paths of its calls. Throws ConfigError. */
export const parseUpstreams = (text: string): string[] =>
  text === ""
    ? []
    : text.split(",").map((url) => originOf("upstream", url.replace(API_PATH, ""), "http://10.0.0.1:8080"));

function originOf(setting: string, text: string, example: string): string {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null;
  // The path of an origin alone is "/".
  if (url !== null && url.href === `${url.origin}/` && !/[?#*]/.test(text)) return url.origin;
  throw new ConfigError(
    `${setting}: "${text}" is not an origin; give a scheme, a host and perhaps a port, such as ${example}`,
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
