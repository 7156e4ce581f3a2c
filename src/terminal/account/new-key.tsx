import { useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import type { CreatedApiKey, NewApiKey } from "../../client/types.ts";
import { Refused } from "../dialogs/refused.tsx";
import { TextField } from "../dialogs/text-field.tsx";
import { exchangeNow } from "../state/clock.ts";
import { instruments } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { words } from "../text/format.ts";
import { localRefusal } from "../text/refusals.ts";
import { amountOf, labelOf, request } from "./requests.ts";

type Permission = NewApiKey["permissions"][number];
const PERMISSIONS: readonly Permission[] = ["READ", "TRADE", "WITHDRAW"];

const LIMITS = ["allowedIps", "allowedSymbols", "maxOrderNotional", "maxPositionNotional", "maxLeverage"] as const;
const TEXT_LIMITS: ReadonlySet<string> = new Set(["allowedIps", "allowedSymbols"]);
/** 0: never. */
const DAYS = [0, 7, 30, 90, 365] as const;
const DAY_MS = 86_400_000;

const EMPTY = {
  label: "",
  allowedIps: "",
  allowedSymbols: "",
  maxOrderNotional: "",
  maxPositionNotional: "",
  maxLeverage: "",
  days: 0,
};

const listOf = (typed: string): string[] => [...new Set(typed.split(/[\s,]+/).filter((each) => each !== ""))];

/** Null: no limit. */
const limitOf = (typed: string, field: string): string | null | PerpdError =>
  typed.trim() === "" ? null : amountOf(typed, field);

/** The typed fields as a request, or why they cannot be one. */
function requestOf(typed: typeof EMPTY, permissions: readonly Permission[]): NewApiKey | PerpdError {
  const label = labelOf(typed.label);
  if (label instanceof PerpdError) return label;
  if (permissions.length === 0) return localRefusal("permissions", text.accountDialogs.noPermission);
  const allowedIps = listOf(typed.allowedIps);
  const allowedSymbols = listOf(typed.allowedSymbols.toUpperCase());
  const unknown = allowedSymbols.find((name) => !instruments.peek().some(({ symbol }) => symbol === name));
  if (unknown !== undefined) return localRefusal("allowedSymbols", text.accountDialogs.noSuchMarket(unknown));
  const order = limitOf(typed.maxOrderNotional, "maxOrderNotional");
  if (order instanceof PerpdError) return order;
  const position = limitOf(typed.maxPositionNotional, "maxPositionNotional");
  if (position instanceof PerpdError) return position;
  const leverage = typed.maxLeverage.trim();
  if (leverage !== "" && !/^[1-9]\d{0,2}$|^1000$/.test(leverage))
    return localRefusal("maxLeverage", text.accountDialogs.badLeverage);
  return {
    label,
    permissions: [...permissions],
    ...(allowedIps.length > 0 && { allowedIps }),
    ...(allowedSymbols.length > 0 && { allowedSymbols }),
    ...(position !== null && { maxPositionNotional: position }),
    ...(order !== null && { maxOrderNotional: order }),
    ...(leverage !== "" && { maxLeverage: Number(leverage) }),
    ...(typed.days > 0 && { expiresAt: exchangeNow() + typed.days * DAY_MS }),
  };
}

export function NewKeyForm({ onCreate }: { onCreate: (key: CreatedApiKey) => void }) {
  const [typed, setTyped] = useState(EMPTY);
  const [permissions, setPermissions] = useState<readonly Permission[]>(["READ", "TRADE"]);
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const [isSending, setSending] = useState(false);
  // The API names an element of a list as "allowedIps[0]".
  const field = refusal?.field?.replace(/\[.*$|\..*$/, "") ?? "";
  const isShown = field === "label" || LIMITS.some((name) => name === field);
  const refusalOf = (name: string): PerpdError | null => (field === name ? refusal : null);
  const change = (changed: Partial<typeof typed>): void => {
    setTyped({ ...typed, ...changed });
    setRefusal(null);
  };
  const create = async (): Promise<void> => {
    const key = requestOf(typed, permissions);
    if (key instanceof PerpdError) return setRefusal(key);
    setSending(true);
    const refused = await request(async (client, approve) => onCreate(await client.createKey(key, approve)));
    setSending(false);
    setRefusal(refused);
  };
  return (
    <form
      noValidate
      aria-label={text.accountDialogs.createKey}
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <h3>{text.accountDialogs.newKey}</h3>
      <TextField
        label={text.accountDialogs.name}
        isText
        value={typed.label}
        placeholder={text.accountDialogs.keyNameHint}
        refusal={refusalOf("label")}
        onChange={(label) => change({ label })}
      />
      <fieldset class="permissions">
        <legend>{text.accountDialogs.permissions}</legend>
        {PERMISSIONS.map((each) => (
          <label class="check">
            <input
              type="checkbox"
              checked={permissions.includes(each)}
              onChange={({ currentTarget: { checked } }) => {
                setPermissions(PERMISSIONS.filter((other) => (other === each ? checked : permissions.includes(other))));
                setRefusal(null);
              }}
            />
            <span>
              {words(each)} <span class="muted">{text.accountDialogs.permissionHints[each]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Refused refusal={refusal} fields={isShown ? [refusal?.field ?? ""] : []} />
      <details class="more-fields">
        <summary>{text.accountDialogs.limits}</summary>
        {LIMITS.map((name) => (
          <TextField
            label={text.accountDialogs.limitNames[name]}
            isText={TEXT_LIMITS.has(name)}
            value={typed[name]}
            placeholder={text.accountDialogs.limitHints[name]}
            refusal={refusalOf(name)}
            onChange={(value) => change({ [name]: value })}
          />
        ))}
        <label class="box">
          <span class="box-label">{text.accountDialogs.validFor}</span>
          <select
            class="bare"
            value={typed.days}
            onChange={(event) => change({ days: Number(event.currentTarget.value) })}
          >
            {DAYS.map((days) => (
              <option value={days}>{days === 0 ? text.accountDialogs.always : text.accountDialogs.days(days)}</option>
            ))}
          </select>
        </label>
      </details>
      <button type="submit" class="big accent" disabled={isSending}>
        {isSending ? text.sending : text.accountDialogs.createKey}
      </button>
    </form>
  );
}
