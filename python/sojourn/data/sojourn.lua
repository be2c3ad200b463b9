-- What Wireshark lacks for captures of congestion control: reports of RFC 8888, ESCE of SCE, and the comments that
-- Sojourn puts on packets. For Wireshark and tshark 3.6 and later.
--
--   tshark -X lua_script:sojourn.lua -r run.pcapng -Y sojourn.ccfb
--
-- In Wireshark: Help, About, Folders shows the folder for Lua plugins. Fields begin with `sojourn.`; a Wireshark that
-- decodes RFC 8888 itself (rtcp.rtpfb.ccfb) does so, and these reports have its fields instead.

set_plugin_info({ version = "1.0.0", author = "Sojourn", description = "RFC 8888, ESCE and states of queues" })

local function known(name)
    return (pcall(Field.new, name))
end

-- Congestion control feedback (RFC 8888 3.1): RTCP, payload type 205 (RFC 4585 6.2), format 11.

local ECN = { [0] = "Not-ECT", [1] = "ECT(1)", [2] = "ECT(0)", [3] = "CE" }
local PAYLOAD_TYPE, FORMAT = 205, 11
local HEADER_BYTES, BLOCK_BYTES, STAMP_BYTES = 8, 8, 4
-- Arrival time offsets that are no times: too long before the report to say, and not known.
local TOO_LONG_AGO, UNKNOWN = 0x1ffe, 0x1fff

local ccfb = Proto("sojourn_ccfb", "RTP congestion control feedback (RFC 8888)")
local report = ProtoField.none("sojourn.ccfb", "Congestion control feedback")
local sender = ProtoField.uint32("sojourn.ccfb.sender", "SSRC of the report's sender", base.HEX)
local stamp = ProtoField.double("sojourn.ccfb.time", "Time of the report (s)")
local source = ProtoField.uint32("sojourn.ccfb.ssrc", "SSRC of the media", base.HEX)
local first = ProtoField.uint16("sojourn.ccfb.begin", "First sequence number")
local count = ProtoField.uint16("sojourn.ccfb.count", "Packets")
local metric = ProtoField.uint16("sojourn.ccfb.metric", "Packet", base.HEX)
local seq = ProtoField.uint16("sojourn.ccfb.seq", "Sequence number")
local received = ProtoField.bool("sojourn.ccfb.received", "Received")
local ecn = ProtoField.uint8("sojourn.ccfb.ecn", "ECN codepoint", base.DEC, ECN)
local offset = ProtoField.double("sojourn.ccfb.offset", "Arrived before the report (ms)")
local ce = ProtoField.uint16("sojourn.ccfb.ce", "Packets with CE")
local lost = ProtoField.uint16("sojourn.ccfb.lost", "Packets not received")
ccfb.fields = { report, sender, stamp, source, first, count, metric, seq, received, ecn, offset, ce, lost }

-- Words of each block if the count field holds `less` fewer than there are; nil if that does not fit the length.
local function blocks(buffer, less)
    local at, ends = HEADER_BYTES, buffer:len() - STAMP_BYTES
    local found = {}
    while at < ends do
        if at + BLOCK_BYTES > ends then
            return nil
        end
        local words = buffer(at + 6, 2):uint() + less
        local bytes = BLOCK_BYTES + 2 * (words + words % 2)
        if at + bytes > ends then
            return nil
        end
        found[#found + 1] = { at = at, words = words }
        at = at + bytes
    end
    return #found > 0 and found or nil
end

-- The report in a datagram, cut to its length, or nil.
local function find_report(buffer)
    if buffer:len() < HEADER_BYTES + STAMP_BYTES or buffer:captured_len() < buffer:len() then
        return nil
    end
    -- RFC 3550 6.4.1: version 2, and the length in words less one.
    if buffer(0, 1):bitfield(0, 2) ~= 2 or buffer(0, 1):bitfield(3, 5) ~= FORMAT then
        return nil
    end
    local bytes = 4 * (buffer(2, 2):uint() + 1)
    if buffer(1, 1):uint() ~= PAYLOAD_TYPE or bytes > buffer:len() or bytes < HEADER_BYTES + STAMP_BYTES then
        return nil
    end
    return buffer(0, bytes):tvb()
end

local function put_block(tree, buffer, block)
    local at, words = block.at, block.words
    local begin = buffer(at + 4, 2):uint()
    local branch = tree:add(buffer(at, BLOCK_BYTES + 2 * words), string.format("Packets %d to %d",
        begin, (begin + words - 1) % 65536))
    branch:add(source, buffer(at, 4))
    branch:add(first, buffer(at + 4, 2))
    branch:add(count, buffer(at + 6, 2), words)
    local marked, missing = 0, 0
    for word = 0, words - 1 do
        local range = buffer(at + BLOCK_BYTES + 2 * word, 2)
        local leaf = branch:add(metric, range)
        local number, is_received = (begin + word) % 65536, range:bitfield(0, 1) == 1
        leaf:add(seq, range, number)
        leaf:add(received, range, is_received)
        if is_received then
            local codepoint, ago = range:bitfield(1, 2), range:bitfield(3, 13)
            leaf:add(ecn, range, codepoint)
            local text = ago == UNKNOWN and "time not known"
                or ago == TOO_LONG_AGO and "long ago"
                or string.format("%.3f ms before", 1000 * ago / 1024)
            if ago < TOO_LONG_AGO then
                leaf:add(offset, range, 1000 * ago / 1024)
            end
            leaf:set_text(string.format("%d: %s, %s", number, ECN[codepoint], text))
            marked = marked + (codepoint == 3 and 1 or 0)
        else
            leaf:set_text(string.format("%d: not received", number))
            missing = missing + 1
        end
    end
    branch:add(ce, buffer(at, BLOCK_BYTES), marked):set_generated()
    branch:add(lost, buffer(at, BLOCK_BYTES), missing):set_generated()
    return words, marked, missing
end

function ccfb.dissector(buffer, pinfo, root)
    local own = find_report(buffer)
    -- RFC 8888 as first printed gives the last number in the place of the count; erratum 8166 the count.
    local found = own and (blocks(own, 0) or blocks(own, 1))
    if not found then
        return 0
    end
    local tree = root:add(report, own(0, own:len()))
    tree:set_text("RTP congestion control feedback (RFC 8888)")
    tree:add(sender, own(4, 4))
    local words, marked, missing = 0, 0, 0
    for _, block in ipairs(found) do
        local w, m, l = put_block(tree, own, block)
        words, marked, missing = words + w, marked + m, missing + l
    end
    local range = own(own:len() - STAMP_BYTES, STAMP_BYTES)
    tree:add(stamp, range, range:uint() / 65536)
    pinfo.cols.protocol = "CCFB"
    pinfo.cols.info = string.format("Feedback on %d packets, %d with CE, %d not received", words, marked, missing)
    return own:len()
end

-- Without signalling nobody knows which ports carry RTP: reports, and the payload type and SSRCs of SCReAM's tool.
local MEDIA_TYPE, FIRST_SSRC, LAST_SSRC = 98, 100, 109
local has_own_ccfb = known("rtcp.rtpfb.ccfb.beginseq")

local function feedback(buffer, pinfo, root)
    if not find_report(buffer) then
        return false
    end
    if has_own_ccfb then
        Dissector.get("rtcp"):call(buffer, pinfo, root)
        return true
    end
    return ccfb.dissector(buffer, pinfo, root) > 0
end

local function media(buffer, pinfo, root)
    if buffer:captured_len() < 12 or buffer(0, 1):bitfield(0, 2) ~= 2 then
        return false
    end
    local ssrc = buffer(8, 4):uint()
    if buffer(1, 1):bitfield(1, 7) ~= MEDIA_TYPE or ssrc < FIRST_SSRC or ssrc > LAST_SSRC then
        return false
    end
    Dissector.get("rtp"):call(buffer, pinfo, root)
    return true
end

ccfb:register_heuristic("udp", function(buffer, pinfo, root)
    return feedback(buffer, pinfo, root) or media(buffer, pinfo, root)
end)

-- What a comment says of a queue: fields `name=value` with a space between.

local notes = Proto("sojourn", "State of a queue")
local delay = ProtoField.double("sojourn.sojourn", "Time in the queue (ms)")
local side = ProtoField.string("sojourn.queue", "Queue of a dual queue")
local mark = ProtoField.string("sojourn.mark", "Marked because of")
local drop = ProtoField.string("sojourn.drop", "Dropped because of")
local place = ProtoField.string("sojourn.at", "Dropped at")
local state = ProtoField.string("sojourn.state", "State of the queue")
local esce = ProtoField.bool("sojourn.esce", "ESCE: the receiver got SCE")
notes.fields = { delay, side, mark, drop, place, state, esce }

local comment = Field.new("frame.comment")
local stream = Field.new("tcp.stream")
local flags = Field.new("tcp.flags")
local TEXTS = { queue = side, mark = mark, drop = drop, at = place }

local function put_comment(text, root)
    local words = {}
    for name, value in string.gmatch(text, "([%w_%.]+)=(%S+)") do
        words[#words + 1] = { name, value }
    end
    if #words == 0 or not (words[1][1] == "sojourn" or TEXTS[words[1][1]]) then
        return
    end
    local tree = root:add(notes)
    for _, word in ipairs(words) do
        local name, value = word[1], word[2]
        local number = tonumber((string.gsub(value, "ms$", "")))
        if name == "sojourn" and number then
            tree:add(delay, number)
        elseif TEXTS[name] then
            tree:add(TEXTS[name], value)
        else
            tree:add(state, name .. "=" .. value)
        end
    end
end

-- ESCE (draft-grimes-tcpm-tcpsce) is the bit that AccECN calls AE: it is ESCE where no AccECN was agreed. AccECN is
-- asked for by a SYN with AE, CWR and ECE, and refused by an answer with none of them, ECE alone, or all three
-- reflected (RFC 9768 3.1.2).
local SYN, ACK, ECN_BITS, AE, ECE = 0x002, 0x010, 0x1c0, 0x100, 0x040
local asked, agreed = {}, {}

function notes.init()
    asked, agreed = {}, {}
end

local function has(value, bits)
    return math.floor(value / bits) % 2 == 1
end

local function ecn_bits(value)
    return value % 0x200 - value % ECE
end

local function put_esce(root)
    local number, value = stream(), flags()
    if not number or not value then
        return
    end
    number, value = number.value, value.value
    if has(value, SYN) then
        local bits = ecn_bits(value)
        if not has(value, ACK) then
            asked[number] = bits == ECN_BITS
        else
            agreed[number] = asked[number] == true and bits ~= 0 and bits ~= ECE and bits ~= ECN_BITS
        end
    -- Without the handshake nobody knows what the bit means.
    elseif agreed[number] == false and has(value, AE) then
        root:add(notes):add(esce, true)
    end
end

function notes.dissector(_, _, root)
    for _, text in ipairs({ comment() }) do
        put_comment(tostring(text.value), root)
    end
    put_esce(root)
end

-- All fields are made although nobody shows them: filters and columns may ask.
register_postdissector(notes, true)
