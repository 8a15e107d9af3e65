--[[
Sent before the scripts that answer with the state of the cluster, which are called with its two keys.

Of a lease only numbers change with each renewal. They are also kept in one string, at the place of the process, so
that a reader that knows all the rest copies one value: n processes that read n leases twice a second cost n² of what
one lease costs. `layout` names the order of the places. Each script that changes anything else deletes it, and
the next reader gets everything and makes a new one.

Scripts of version 0.1 know no layout. A lease that they write makes no layout possible, and none is made until a minute
after the last one was seen: by then its process has stopped, although it may not have known that its lease was removed.
Until that lease is seen, the number of fields in the hash tells of it.
]]
local members, packed = KEYS[1], KEYS[2]
local width = 24
local unpackedMs = 60000
-- How a lease ends whose process keeps its numbers in the string; `leaseText` in `record.ts` writes it.
local packs = '"packs":1}'

local function numberText(number)
  return string.format('%.0f', number)
end

-- The numbers of a lease as `width` hexadecimal digits; nil if an older version wrote it, or a number is too large.
local function packedNumbers(lease)
  if string.sub(lease, -#packs) ~= packs then
    return nil
  end
  local renewals, late, leaving, promised, holds = string.match(lease, '^(%d+) %d+ (%d+) ([01]) (%d+) (%d+) ')
  if not renewals then
    return nil
  end
  local numbers = string.format('%07x%05x%x%05x%06x', renewals, late, leaving, promised, holds)
  return #numbers == width and numbers or nil
end

-- Makes the string and its layout from the whole hash, and adds the layout to it; does nothing if none is possible.
local function makeLayout(entries, now, id)
  local all, order = {}, {}
  for index = 1, #entries, 2 do
    if string.sub(entries[index], 1, 6) == 'lease:' then
      local numbers = packedNumbers(entries[index + 1])
      if not numbers then
        redis.call('HSET', members, 'unpacked-seen', numberText(now))
        return
      end
      all[#all + 1] = numbers
      order[#order + 1] = string.sub(entries[index], 7)
    end
  end
  local seen = redis.call('HGET', members, 'unpacked-seen')
  if seen and now - tonumber(seen) < unpackedMs then
    return
  end
  redis.call('SET', packed, table.concat(all))
  local layout = { 'layout', id, 'layout-order', table.concat(order, ' ') }
  redis.call('HSET', members, 'layout-bytes', #all * width, 'layout-fields', '0', unpack(layout))
  redis.call('HSET', members, 'layout-fields', redis.call('HLEN', members))
  for _, text in ipairs(layout) do
    entries[#entries + 1] = text
  end
end

-- The place of a process in the order of the layout, from 0; nil if it has none.
local function placeOf(process)
  local order = ' ' .. redis.call('HGET', members, 'layout-order') .. ' '
  local at = string.find(order, ' ' .. process .. ' ', 1, true)
  if not at then
    return nil
  end
  local _, earlier = string.gsub(string.sub(order, 2, at), ' ', ' ')
  return earlier
end

-- Writes the numbers of one lease to its place, which its process knows if it knows the layout.
local function pack(process, lease, known, knownPlace)
  local layout, bytes = unpack(redis.call('HMGET', members, 'layout', 'layout-bytes'))
  if not layout then
    return
  end
  local place = layout == known and tonumber(knownPlace) or placeOf(process)
  local numbers = packedNumbers(lease)
  local isWhole = redis.call('STRLEN', packed) == tonumber(bytes)
  if place and numbers and isWhole then
    redis.call('SETRANGE', packed, place * width, numbers)
  else
    redis.call('HDEL', members, 'layout')
  end
end

-- { the store's time in ms, the mark and its age in ms, then either the string, for a reader that knows its layout, or
-- { field, value, … } of the whole hash }
local function state(now, known, id)
  local mark, made, layout, fields, bytes =
    unpack(redis.call('HMGET', members, 'mark', 'mark-made', 'layout', 'layout-fields', 'layout-bytes'))
  local age = made and numberText(now - tonumber(made)) or '0'
  if layout and tonumber(fields) ~= redis.call('HLEN', members) then
    redis.call('HDEL', members, 'layout')
    layout = false
  end
  if layout and layout == known then
    local numbers = redis.call('GET', packed)
    if numbers and #numbers == tonumber(bytes) then
      return { numberText(now), mark, age, numbers }
    end
    redis.call('HDEL', members, 'layout')
    layout = false
  end
  local entries = redis.call('HGETALL', members)
  if not layout then
    makeLayout(entries, now, id)
  end
  return { numberText(now), mark, age, entries }
end

-- The mark of this server's content, made anew if it has none, if another server made it, or if it is to be replaced.
local function markOf(now, id, isReplaced)
  local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local mark, maker = unpack(redis.call('HMGET', members, 'mark', 'mark-server'))
  if mark and maker == server and not isReplaced(mark) then
    return mark
  end
  redis.call('HSET', members, 'mark', id, 'mark-made', numberText(now), 'mark-server', server)
  redis.call('HDEL', members, 'layout')
  return id
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
