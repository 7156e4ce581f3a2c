/** A setting or a figure before and after, in a list of pairs. */
export function Change(props: { label: string; before: string; after: string; unit?: string }) {
  const { label, before, after, unit = "" } = props;
  return (
    <div>
      <dt>{label}</dt>
      <dd class="num">
        {before === after ? (
          before
        ) : (
          <>
            <span class="muted">{before}</span> → {after}
          </>
        )}{" "}
        {unit}
      </dd>
    </div>
  );
}
