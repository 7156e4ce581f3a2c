import { ConfigError } from "./error.ts";

/** The origins of the setting, each as a browser sends it. Throws ConfigError. */
export function parseOrigins(allowedOrigins: string): string[] {
  const origins = allowedOrigins.split(",").map((entry) => entry.trim());
  return origins.filter((entry) => entry !== "").map(parseOrigin);
}

function parseOrigin(text: string): string {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null;
  // The path of an origin alone is "/".
  if (url !== null && url.href === `${url.origin}/` && !/[?#]/.test(text)) return url.origin;
  throw new ConfigError(
    `allowedOrigins: "${text}" is not an origin; give a scheme, a host and perhaps a port, such as https://app.example.com`,
  );
}
