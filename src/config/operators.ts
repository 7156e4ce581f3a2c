import { ConfigError } from "./error.ts";
import { type Settings, TOKEN_EXPECTED, TOKEN_PATTERN } from "./settings.ts";

/** Shorter than a token, so that an error never shows a token in the place of a name. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,23}$/;
const TOKEN = new RegExp(`^${TOKEN_PATTERN}$`);
/** The log uses these names for the holders of operatorToken and metricsToken. */
const RESERVED: readonly string[] = ["operator", "metrics"];

type OperatorSettings = Pick<Settings, "operatorToken" | "operators" | "metricsToken" | "operatorPort" | "port">;

/** Throws ConfigError if a name or a token is not valid, or if two settings exclude each other. Errors show no token. */
export function checkOperators(settings: OperatorSettings): void {
  const { operatorToken, operators, metricsToken, operatorPort, port } = settings;
  const holders = new Map<string, string>();
  const hold = (holder: string, token: string): void => {
    const other = holders.get(token);
    if (other !== undefined) throw new ConfigError(`${other} and ${holder} are the same token; give each its own`);
    if (token !== "") holders.set(token, holder);
  };
  hold("operatorToken", operatorToken);
  hold("metricsToken", metricsToken);
  for (const [name, token] of Object.entries(operators)) {
    if (!NAME.test(name))
      throw new ConfigError("operators: a name must have 1 to 24 of a-z, 0-9, dot, dash and underscore");
    if (RESERVED.includes(name)) throw new ConfigError(`operators: the name ${name} is reserved; choose another`);
    if (!TOKEN.test(token)) throw new ConfigError(`operators.${name}: the token is not ${TOKEN_EXPECTED}`);
    hold(`operators.${name}`, token);
  }
  if (operatorPort !== 0 && operatorPort === port)
    throw new ConfigError(`operatorPort: ${operatorPort} is the port of the first listener; choose another`);
}

/** Whether anybody can use the operator's endpoints. */
export const hasOperator = ({ operatorToken, operators }: Pick<Settings, "operatorToken" | "operators">): boolean =>
  operatorToken !== "" || Object.keys(operators).length > 0;
